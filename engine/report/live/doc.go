// Package live shows a run on a terminal: lines that scroll, and the live status below them.
package live
