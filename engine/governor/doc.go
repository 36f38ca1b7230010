// Package governor is the controller of staging near etcd: from the disk
// latency of all members of a cluster it computes how fast a host may stage.
// The package reads no clock and touches no host.
//
// The controller has one state variable, the pace, between the floor (0) and
// full speed (1). It raises the pace slowly while every member is well below
// its limits, halves it when a member exceeds a limit, and stops the host
// completely for a short time if even the floor is too much. The worst member
// decides, even if another host is being staged.
package governor
