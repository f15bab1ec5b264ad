memattach: there is no process 9069; look up the id with `pgrep NAME`
