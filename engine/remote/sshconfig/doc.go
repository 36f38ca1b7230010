// Package sshconfig fills in a Target from ssh_config and the defaults, and returns an Endpoint.
//
// It reads ~/.ssh/config, or the file that Target.Config names, and never /etc/ssh/ssh_config. It looks up
// Target.Address in the file, as `ssh ADDRESS` does. The Target's values override the file. A test compares it with
// `ssh -G`.
//
// These options have an effect: Host, Match, Include, HostName, Port, User, IdentityFile (also FILE-cert.pub beside it),
// IdentityAgent, IdentitiesOnly, ProxyJump, ProxyCommand, UserKnownHostsFile, GlobalKnownHostsFile, HostKeyAlias, Tag,
// ConnectTimeout, ServerAliveInterval and ServerAliveCountMax; in file names and User ${VAR} and the tokens of ssh_config(5),
// in file names also ~; in Include only those that are equal for all hosts. A ProxyCommand that only runs `ssh -W` is a jump
// host.
//
// All criteria of Match are evaluated, except for version, and for exec if Resolver.Run is nil. Then a host is
// refused if the block may concern it: its other criteria match, and it has an option with an effect that no line above it sets.
//
// These options restrict the defaults, and never extend them: RevokedHostKeys (text files),
// HostKeyAlgorithms, CASignatureAlgorithms, PubkeyAcceptedAlgorithms, Ciphers, MACs, KexAlgorithms, RequiredRSASize and
// AddressFamily.
//
// These options are refused, because without them holdfast would connect to another address than ssh, or where ssh
// would not connect: ProxyUseFdpass, key revocation lists, RefuseConnection, PubkeyAuthentication
// no, and PreferredAuthentications without publickey.
//
// CheckHostIP, CanonicalizeHostname, BindAddress and BindInterface cause a warning. All other options have no effect,
// in particular StrictHostKeyChecking, VerifyHostKeyDNS and ForwardAgent.
package sshconfig
