// main.mjs: official SDKs of providers as senders and judges, for tests in another language. One request per line on the
// standard input, as JSON, and one answer per line on the standard output, in the same order:
//
//   {"sdk": "stripe", "do": "sign",   "secret": "whsec_x", "body": BASE64, "time": 1700000000}
//                                                                         -> {"headers": {"stripe-signature": "t=..."}}
//   {"sdk": "stripe", "do": "verify", "secret": "whsec_x", "body": BASE64, "headers": {...}}  -> {"valid": true}
//
// Further members (url, id) are for the SDKs that need them; sdk/NAME.mjs says what it takes. Names of headers come in and
// go out in lower case; a signature that belongs into the body comes out as if it were one. {"error": "..."} is a fault of
// the test or of the SDK, never a verdict.
import {createInterface} from 'node:readline';

async function answer({sdk, do: action, body, ...rest}) {
    const module = await import(`./sdk/${sdk}.mjs`);
    const request = {...rest, body: Buffer.from(body, 'base64')};
    if (action === 'sign')
        return {headers: await module.sign(request)};
    if (action === 'verify')
        return {valid: await module.verify(request)};
    throw new Error(`cannot "${action}", only sign and verify`);
}

// The answers have the standard output for themselves; what SDKs like to say goes to the standard error.
console.log = console.info = console.debug = console.error;

for await (const line of createInterface({input: process.stdin})) {
    let reply;
    try {
        reply = await answer(JSON.parse(line));
    } catch (error) {
        reply = {error: error.stack ?? String(error)};
    }
    process.stdout.write(JSON.stringify(reply) + '\n');
}
