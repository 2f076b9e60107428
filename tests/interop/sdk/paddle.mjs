// The SDK only verifies. Signed by the layout of https://developer.paddle.com/webhooks/signature-verification
import {createHmac} from 'node:crypto';
import {Paddle} from '@paddle/paddle-node-sdk';

const paddle = new Paddle('never used');

export function sign({secret, body, time}) {
    const mac = createHmac('sha256', secret).update(`${time}:`).update(body).digest('hex');
    return {'paddle-signature': `ts=${time};h1=${mac}`};
}

export function verify({secret, body, headers}) {
    return paddle.webhooks.isSignatureValid(body.toString(), secret, headers['paddle-signature']);
}
