// Package termtext writes text for terminals: colours, tables, wrapped lines, counts and durations. It makes
// text from hosts safe first, because such text is untrusted.
package termtext
