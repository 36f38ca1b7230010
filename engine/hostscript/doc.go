// Package hostscript has the shell scripts that hosts are sent and that belong
// to no module: those that take, check, mark and release holds, and those that
// gather facts. It also has their exit statuses, and quotes values for a shell.
package hostscript
