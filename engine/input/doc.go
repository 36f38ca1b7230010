// Package input reads the files and pipes that operators name: inventories,
// documents, plans, keys. A read has a maximum size and ends with a context.
// The package opens no device but /dev/null. Waits lists the reads that a
// signal cannot interrupt.
package input
