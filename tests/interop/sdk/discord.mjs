// The SDK only verifies, with the public key; the secret here is the private key, as its 32 bytes in hex. Signed by the layout
// of https://discord.com/developers/docs/interactions/overview#setting-up-an-endpoint-validating-security-request-headers
import {createPrivateKey, createPublicKey, sign as ed25519} from 'node:crypto';
import {verifyKey} from 'discord-interactions';

const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

function privateKey(secret) {
    return createPrivateKey({key: Buffer.concat([PKCS8, Buffer.from(secret, 'hex')]), format: 'der', type: 'pkcs8'});
}

export function publicKey(secret) {
    return createPublicKey(privateKey(secret)).export({format: 'der', type: 'spki'}).subarray(-32).toString('hex');
}

export function sign({secret, body, time}) {
    const signature = ed25519(null, Buffer.concat([Buffer.from(String(time)), body]), privateKey(secret));
    return {'x-signature-ed25519': signature.toString('hex'), 'x-signature-timestamp': String(time)};
}

export function verify({secret, body, headers}) {
    return verifyKey(body, headers['x-signature-ed25519'], headers['x-signature-timestamp'], publicKey(secret));
}
