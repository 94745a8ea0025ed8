import 'jose';
