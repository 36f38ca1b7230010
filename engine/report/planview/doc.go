// Package planview shows a plan: the changes of alike hosts, the order, the exclusions and the totals, and the
// differences in the contents of files.
package planview
