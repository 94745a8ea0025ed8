create table thing (id int primary key);
insert into thing values (1);
