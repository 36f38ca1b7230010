// Package rules compares two configurations of a host and says what makes
// each change take effect in the least disruptive way.
//
// It is pure: the same configurations and policy always give the same changes
// and actions, in the same order. It never shows contents of files, password
// hashes or keys.
package rules
