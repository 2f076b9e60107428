// Signs one item, and judges a whole notification: its signatures stand in the items.
import adyen from '@adyen/api-library';

const hmac = new adyen.hmacValidator();

export function sign({secret, body}) {
    return {hmacsignature: hmac.calculateHmac(JSON.parse(body), secret)};
}

export function verify({secret, body}) {
    const items = JSON.parse(body).notificationItems.map((entry) => entry.NotificationRequestItem);
    return items.length > 0 && items.every((item) => item.additionalData?.hmacSignature && hmac.validateHMAC(item, secret));
}
