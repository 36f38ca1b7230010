// Package lines shows a run as lines of text, for cron, CI, logs, and above the live status.
package lines
