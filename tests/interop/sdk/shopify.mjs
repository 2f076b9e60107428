import '@shopify/shopify-api/adapters/node';
import {ApiVersion, LogSeverity, shopifyApi} from '@shopify/shopify-api';
import {createSHA256HMAC} from '@shopify/shopify-api/runtime';

export async function sign({secret, body}) {
    return {'x-shopify-hmac-sha256': await createSHA256HMAC(secret, body.toString())};
}

export async function verify({secret, body, headers}) {
    const shopify = shopifyApi({
        apiKey: 'never used',
        apiSecretKey: secret,
        apiVersion: ApiVersion.July25,
        hostName: 'shop.example.com',
        isEmbeddedApp: false,
        logger: {level: LogSeverity.Error},
    });
    const rawRequest = {method: 'POST', url: '/', headers};
    const {valid, reason, missingHeaders} = await shopify.webhooks.validate({rawBody: body.toString(), rawRequest});
    if (missingHeaders)
        throw new Error(`${reason}: ${missingHeaders}`);
    return valid;
}
