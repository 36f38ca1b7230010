// Package savedplan writes a plan to a file and reads it again. The file has no
// secrets, but a seal that tells whether they have changed since.
package savedplan
