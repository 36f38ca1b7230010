// Package certificate describes and checks the certificates that an etcd member
// presents, and the certificates with which holdfast connects to the member.
package certificate
