restore() { bootc rollback; }
drop() { ostree admin undeploy 0; } # a staged deployment is always the first
