// The SDK only verifies, with the public key (base64 of its SPKI); the secret here is the private key, as base64 of its PKCS #8.
// Signed by the layout of https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features
import {createPrivateKey, createPublicKey, sign as ecdsa} from 'node:crypto';
import {EventWebhook} from '@sendgrid/eventwebhook';

const SIGNATURE = 'x-twilio-email-event-webhook-signature';
const TIMESTAMP = 'x-twilio-email-event-webhook-timestamp';

function privateKey(secret) {
    return createPrivateKey({key: Buffer.from(secret, 'base64'), format: 'der', type: 'pkcs8'});
}

export function publicKey(secret) {
    return createPublicKey(privateKey(secret)).export({format: 'der', type: 'spki'}).toString('base64');
}

export function sign({secret, body, time}) {
    const signature = ecdsa('sha256', Buffer.concat([Buffer.from(String(time)), body]), privateKey(secret));
    return {[SIGNATURE]: signature.toString('base64'), [TIMESTAMP]: String(time)};
}

export function verify({secret, body, headers}) {
    const webhook = new EventWebhook();
    return webhook.verifySignature(webhook.convertPublicKeyToECDSA(publicKey(secret)), body, headers[SIGNATURE], headers[TIMESTAMP]);
}
