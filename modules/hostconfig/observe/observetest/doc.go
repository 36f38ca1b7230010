// Package observetest provides a fake host for tests of probes, and local
// accounts that change files while root reads them.
package observetest
