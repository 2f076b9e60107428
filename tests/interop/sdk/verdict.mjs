// A verifier that throws its own kind of error for a bad request: false then. Any other error is passed on.
export async function verdict(kind, check) {
    try {
        await check();
        return true;
    } catch (error) {
        if (error instanceof kind)
            return false;
        throw error;
    }
}
