// Package inventory reads the HCL files of a site into an engine.Inventory.
//
// It does no I/O of its own but reading files through an fs.FS, and it reports
// everything that is wrong at once, with file, line, column and the line
// itself. Nothing is accepted and then ignored: an argument that this version
// does not carry out is an error. The values of sensitive variables never
// appear in an error.
package inventory
