// Package inventory reads the HCL files of a site into an engine.Inventory.
//
// The package reads files through an fs.FS and does no other I/O. It reports
// all errors at once, with file, line, column and the line itself. It never
// accepts an argument and then ignores it: an argument that this version does
// not carry out is an error. The values of sensitive variables never appear in
// an error.
package inventory
