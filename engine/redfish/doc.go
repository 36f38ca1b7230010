// Package redfish reads and switches the power of one host through its BMC, which speaks Redfish. Every answer of a BMC is bounded in
// size and time, follows no redirect, and comes from a server with a known certificate.
package redfish
