// Package readers finds problems for which the programs that read files of a configuration
// would refuse or ignore them. It reports only problems that are certain without a host: a wrong
// refusal is worse than a missing one. The programs themselves are the judges in
// its tests, where the machine has them.
package readers
