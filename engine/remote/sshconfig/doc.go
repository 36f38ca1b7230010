// Package sshconfig fills in a Target from ssh_config and the defaults, and returns an Endpoint.
//
// It reads ~/.ssh/config, or the file that Target.Config names, and never /etc/ssh/ssh_config. It looks up
// Target.Address in the file, as `ssh ADDRESS` does. The Target's values override the file.
//
// These options have an effect: Host, Match all, Match host (one pattern), Include, HostName, Port, User, IdentityFile
// (also FILE-cert.pub beside it), IdentityAgent, IdentitiesOnly, ProxyJump, UserKnownHostsFile, GlobalKnownHostsFile,
// HostKeyAlias, ConnectTimeout, ServerAliveInterval and ServerAliveCountMax; in file names ~, ${VAR} and the tokens %%
// %d %h %n %p %r %u.
//
// These options restrict what the defaults accept, and never extend it: RevokedHostKeys (text files),
// HostKeyAlgorithms, CASignatureAlgorithms, PubkeyAcceptedAlgorithms, Ciphers, MACs, KexAlgorithms, RequiredRSASize and
// AddressFamily.
//
// These options are refused, because without them holdfast would connect to another address than ssh, or where ssh
// would not connect: other Match criteria, ProxyCommand, key revocation lists, RefuseConnection, PubkeyAuthentication
// no, and PreferredAuthentications without publickey.
//
// CheckHostIP, CanonicalizeHostname, BindAddress and BindInterface cause a warning. All other options have no effect,
// in particular StrictHostKeyChecking, VerifyHostKeyDNS and ForwardAgent.
package sshconfig
