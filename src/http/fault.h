/* Why the server itself refuses a request. */
#ifndef HTTP_FAULT_H
#define HTTP_FAULT_H

enum http_fault {
    HTTP_NO_FAULT,
    HTTP_BAD_FRAMING, /* no HTTP, or such as two readers could read differently */
    HTTP_TARGET_TOO_LONG,
    HTTP_HEADER_TOO_LARGE,
    HTTP_BAD_METHOD,
    HTTP_BAD_VERSION,
    HTTP_BODY_TOO_LARGE,
    HTTP_TOO_SLOW,
    HTTP_TOO_MANY, /* connections, or the server is stopping */
    HTTP_FAULT_COUNT
};

#endif
