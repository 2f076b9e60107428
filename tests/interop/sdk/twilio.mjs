import {parse} from 'node:querystring';
import twilio from 'twilio';

// A form is signed with its fields; anything else by its digest in the query of the address.
const isForm = (url) => !url.includes('bodySHA256=');

export function sign({secret, body, url}) {
    const fields = isForm(url) ? parse(body.toString()) : {};
    return {'x-twilio-signature': twilio.getExpectedTwilioSignature(secret, url, {...fields})};
}

export function verify({secret, body, headers, url}) {
    const signature = headers['x-twilio-signature'];
    return isForm(url)
        ? twilio.validateRequest(secret, signature, url, {...parse(body.toString())})
        : twilio.validateRequestWithBody(secret, signature, url, body.toString());
}
