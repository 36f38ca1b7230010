// Package shell has the functions that all modules share: it builds the scripts
// that steps run on hosts, and reads the output of probes.
package shell
