import {Webhook, WebhookVerificationError} from 'svix';
import {verdict} from './verdict.mjs';

export function sign({secret, body, time, id}) {
    return {
        'svix-id': id,
        'svix-timestamp': String(time),
        'svix-signature': new Webhook(secret).sign(id, new Date(time * 1000), body.toString()),
    };
}

export function verify({secret, body, headers}) {
    return verdict(WebhookVerificationError, () => new Webhook(secret).verify(body.toString(), headers));
}
