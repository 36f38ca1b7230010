// Package shell is the common ground of all modules: it builds the scripts that
// their steps run on hosts, and reads the answers of their probes.
package shell
