package bytebuf

// Debug says whether freed memory is overwritten and not used again.
const Debug = debug
