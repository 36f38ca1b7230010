// Package moduletest helps the tests of modules with a fake host that runs
// scripts with a real sh and fake tools, and golden cases of recorded output.
package moduletest
