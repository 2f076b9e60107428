/* Members of the object, one after the other; one that is no string is passed over. */
#include "work/headers.h"

void headers_begin(struct headers *headers, struct str object, struct arena *arena)
{
    struct json_scan scan;

    *headers = (struct headers){{NULL, NULL}, arena};
    if (object.ptr && json_scan(object, NULL, JSON_DEPTH_DEFAULT, &scan, NULL) &&
        scan.value.kind == JSON_KIND_OBJECT)
        headers->items = json_items_begin(scan.value.text);
}

bool headers_next(struct headers *headers, struct str *name, struct str *value)
{
    struct json_value key, content;

    while (headers->items.next && json_members_next(&headers->items, &key, &content)) {
        if (content.kind != JSON_KIND_STRING)
            continue;
        *name = json_string_text(key.text, headers->arena).bytes;
        *value = json_string_text(content.text, headers->arena).bytes;
        return true;
    }
    return false;
}
