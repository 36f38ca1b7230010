// Package input reads the files and pipes that operators name: inventories,
// documents, plans, keys. Reading is bounded in size and ends with a context; a
// device is never opened. Waits lists the reads that a signal cannot interrupt.
package input
