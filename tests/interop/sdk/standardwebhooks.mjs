import {Webhook, WebhookVerificationError} from 'standardwebhooks';
import {verdict} from './verdict.mjs';

export function sign({secret, body, time, id}) {
    return {
        'webhook-id': id,
        'webhook-timestamp': String(time),
        'webhook-signature': new Webhook(secret).sign(id, new Date(time * 1000), body.toString()),
    };
}

export function verify({secret, body, headers}) {
    return verdict(WebhookVerificationError, () => new Webhook(secret).verify(body.toString(), headers));
}
