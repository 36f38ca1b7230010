// Package sshconfig finds out how to reach a host: it fills in a Target from ssh_config and the defaults, and returns an Endpoint.
//
// ~/.ssh/config is read (or the file Target.Config names; not /etc/ssh/ssh_config) and looked up with Target.Address, as
// `ssh ADDRESS` would. The Target's values win. Honored: Host, Match all, Match host (one pattern), Include, HostName, Port,
// User, IdentityFile (also FILE-cert.pub beside it), IdentityAgent, IdentitiesOnly, ProxyJump, UserKnownHostsFile,
// GlobalKnownHostsFile, HostKeyAlias, ConnectTimeout, ServerAliveInterval and ServerAliveCountMax; the tokens %% %d %h %n %p %r
// %u, ~ and ${VAR} in file names. So are the options that restrict: RevokedHostKeys (text files), HostKeyAlgorithms,
// CASignatureAlgorithms, PubkeyAcceptedAlgorithms, Ciphers, MACs, KexAlgorithms, RequiredRSASize and AddressFamily; they never make
// more than the defaults acceptable. Refused, because going on without them would connect elsewhere than ssh does, or where ssh
// would not: other Match criteria, ProxyCommand, key revocation lists, RefuseConnection, PubkeyAuthentication no, and
// PreferredAuthentications without publickey. Warned of: CheckHostIP, CanonicalizeHostname, BindAddress and BindInterface. Without
// effect: everything else, StrictHostKeyChecking, VerifyHostKeyDNS and ForwardAgent in particular.
package sshconfig
