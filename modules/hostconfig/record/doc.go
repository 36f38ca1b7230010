// Package record encodes and decodes the record of a host: the file that says
// which configuration holdfast has applied, and which write is unfinished.
package record
