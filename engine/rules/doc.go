// Package rules compares two configurations of a host and selects the least
// disruptive actions that make each change take effect.
//
// The same configurations and policy always make the same changes and actions,
// in the same order. The package has no side effects, and never shows contents
// of files, password hashes or keys.
package rules
