// Package savedplan writes a plan to a file and reads it again. The file has no
// secrets. It has a seal that shows whether the secrets have changed since.
package savedplan
