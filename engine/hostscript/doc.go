// Package hostscript builds the shell scripts for hosts that belong to no
// module. They take, check, mark and release holds, gather facts, and control
// the pace of staging. The package also defines the exit statuses of scripts,
// and quotes values for a shell.
package hostscript
