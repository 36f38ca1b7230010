// Package power switches the power of hosts through a controller: a BMC that speaks Redfish, or commands on the bastion. It decides
// which reset is sent, and waits until the controller reports the power that was asked for.
package power
