restore_previous() { bootc rollback; }
drop_staged() { ostree admin undeploy 0; } # a staged deployment is always the first
