// The SDK only verifies. Signed by the layout of https://developer.squareup.com/docs/webhooks/step3validate
import {createHmac} from 'node:crypto';
import {WebhooksHelper} from 'square';

export function sign({secret, body, url}) {
    return {'x-square-hmacsha256-signature': createHmac('sha256', secret).update(url).update(body).digest('base64')};
}

export function verify({secret, body, headers, url}) {
    return WebhooksHelper.isValidWebhookEventSignature(body.toString(), headers['x-square-hmacsha256-signature'], secret, url);
}
