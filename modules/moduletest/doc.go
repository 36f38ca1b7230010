// Package moduletest helps to test modules. It has a fake host that runs scripts
// with a real sh and fake tools, and golden cases of recorded output.
package moduletest
