import Stripe from 'stripe';
import {verdict} from './verdict.mjs';

const stripe = new Stripe('sk_test_never_used');

export function sign({secret, body, time}) {
    return {
        'stripe-signature': stripe.webhooks.generateTestHeaderString({payload: body.toString(), secret, timestamp: time}),
    };
}

export function verify({secret, body, headers}) {
    return verdict(Stripe.errors.StripeSignatureVerificationError,
        () => stripe.webhooks.constructEvent(body, headers['stripe-signature'], secret));
}
