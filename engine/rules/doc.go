// Package rules compares two configurations of a host and selects the least
// disruptive actions that make each change take effect.
//
// It is pure: the same configurations and policy always return the same changes
// and actions, in the same order. It never shows contents of files, password
// hashes or keys.
package rules
