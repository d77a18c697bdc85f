package sqlsource

// Logicals are the logical types of the types of each system.
var Logicals = logicals
