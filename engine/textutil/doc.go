// Package textutil has helpers for texts that people read: it folds lists of host
// names, makes unprintable characters visible, and finds the nearest word. It compares spellings of
// names and addresses, too.
package textutil
