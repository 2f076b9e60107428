import {sign as octokitSign, verify as octokitVerify} from '@octokit/webhooks-methods';

export async function sign({secret, body}) {
    return {'x-hub-signature-256': await octokitSign(secret, body.toString())};
}

export function verify({secret, body, headers}) {
    return octokitVerify(secret, body.toString(), headers['x-hub-signature-256']);
}
