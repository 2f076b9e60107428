// The SDK only verifies. Signed by the layout of https://docs.slack.dev/authentication/verifying-requests-from-slack
import {createHmac} from 'node:crypto';
import bolt from '@slack/bolt';

export function sign({secret, body, time}) {
    const mac = createHmac('sha256', secret).update(`v0:${time}:`).update(body).digest('hex');
    return {'x-slack-request-timestamp': String(time), 'x-slack-signature': `v0=${mac}`};
}

export function verify({secret, body, headers}) {
    return bolt.isValidSlackRequest({
        signingSecret: secret,
        body: body.toString(),
        headers: {
            'x-slack-signature': headers['x-slack-signature'],
            'x-slack-request-timestamp': Number(headers['x-slack-request-timestamp']),
        },
    });
}
