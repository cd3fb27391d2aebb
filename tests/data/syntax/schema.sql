create table if not exists carts (
  id int -- the key
);
